"""What copies records between the clusters of a pair: MirrorMaker 2, a process of one broker's VM of the standby.

It starts on the server's word alone, heard since this agent began: the cluster it copies to may be the primary by now,
and whoever boots with an old document cannot know. It is stopped on anybody's word, and said to be stopped once no
process with its marks is alive. Nothing of it delays the broker beside it.
"""
