"""Guards: how stages go on behind records that functions of the user crash on, and tell which these are."""
