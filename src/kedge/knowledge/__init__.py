"""The knowledge bank: lessons that are kept, observed again, challenged and retired."""
