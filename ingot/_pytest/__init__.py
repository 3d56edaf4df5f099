"""What the pytest plugin is made of; none of it imports pydantic or opens a cassette."""
