"""Tasks and attempts as frozen, validated values, without I/O."""
