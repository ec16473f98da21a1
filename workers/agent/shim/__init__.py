"""The shim: one small process for each task. It owns the command's output and end, and outlives the agent.

It imports the standard library only, and little of that, because one is started for every task. The agent talks to it
by files in the task's folder (`shim.files`) and by its FIFO (`shim.control`); a restarted agent finds it there again.
"""
