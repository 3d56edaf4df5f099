"""Ask the local model for a list of texts, and for an invoice."""

from pydantic import BaseModel

from ingot import ask


class Invoice(BaseModel):
    """An invoice."""

    number: str
    customer: str
    total: float


capitals = ask(list[str], "List three European capital cities.", model="local/smollm2")
print(capitals)

text = "Invoice A-17. Bill to: Ada Lovelace. Total due: 99.50 EUR."
invoice = ask(Invoice, "Extract the invoice.", context={"text": text}, model="local/smollm2")
print(repr(invoice))
