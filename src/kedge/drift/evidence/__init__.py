"""Evidence that an action is on or off course; `drift.scoring` weighs it."""
