"""From a type to what a model is asked for, and from its reply to a value of the type."""
