"""Values of the domain: frozen, validated, without I/O."""
