"""What units run: checks before a start, the gate that holds it, the watch that judges a running model.

It lives apart from the rest of quadgen, because it is installed with the units and must go on working when
quadgen is upgraded or removed: it imports only itself, `quadgen.errors`, sdnotify and the standard library,
and reads one small rendered file beside the unit.

HTTP is spoken through `http.client`. Measured beside requests on the same machine: 12 MB against 20 MB of
memory, 0.2 ms against 0.7 ms of CPU time for an answer, 0.03 ms against 0.3 ms for a refused connection, of
which a gate sees several in each second. It also gives the socket out of hand, which one deadline for a
whole exchange, Unix sockets and deaf ears for proxy variables all need.

Values are named tuples, not dataclasses: for as many classes those take 20 ms more to import on Python 3.14,
of every start and of every failure.
"""
