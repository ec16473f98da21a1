"""`gpulayer up`: everything that an installation needs, as one foreground command.

The process that a person starts is the *keeper*: it starts the *supervisor*, passes signals on and waits.
The supervisor starts the *parts* (broker, web server, task worker, local agent), shows what they print, restarts what
crashed and stops them in order. Whichever of the two is killed, the other ends everything that was started below it.
"""
