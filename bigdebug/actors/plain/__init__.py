"""Plain functions over frames: where all that a function does with its frame is known, it is read and not tried. ``promise.read`` says so; what it does not know is tried (``promises``).

The function is called with a stand-in for the frame, which has no rows: each operation on it gives another stand-in, that knows of which rows its values are made, or says that it knows no
more. It can do nothing else, for its code goes straight on, and finds no names but a few of Python, numpy and pandas. So a promise that is kept here is kept of all rows, and not only of
some that were tried (Smoke, section 3: what an operator is says which rows it reads).
"""
