"""Ask the local model for a list of texts, and for an invoice."""

from pydantic import BaseModel

from ingot import ask


class Invoice(BaseModel):
    number: str
    customer: str
    total: float


capitals = ask(list[str], "List three European capital cities.", model="local/smollm2")
print(capitals)

letter = "Invoice number A-17. Customer: Ada Lovelace. Total: 99.50 EUR."
invoice = ask(Invoice, "Extract the invoice.", context={"invoice": letter}, model="local/smollm2")
print(repr(invoice))
