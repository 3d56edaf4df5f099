"""What asks may spend: limits, what is spent of them, and the check before each request."""
