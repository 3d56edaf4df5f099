"""From a Python type to what a model is asked for, and from what it replies back to a value of the type."""
