"""Linked views over one input: brush marks of one, and the others tell what the rows behind them make (Smoke 6.5.1). Pure.

``associations`` and ``links`` know which rows each mark took, ``values``, ``columns`` and ``aggregates`` what a mark shows of its rows,
``selection`` what is brushed, ``cubes`` what large marks were seen to make, ``steps`` the cheapest way to an answer,
and ``views`` puts them together.
``outputs`` makes ``marks`` of results whose records share an input.
"""
