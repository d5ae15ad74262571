"""For those who write adapters or pilots: what theirs must do, and a clock that jumps."""
