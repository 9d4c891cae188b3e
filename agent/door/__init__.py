"""Whether clients get in at a broker's VM: the door of a pair of clusters, of which at most one is open at any time.

Shut, every packet of a client at the ports of listeners is answered with a TCP reset, of connections that stand, too:
it is what makes clients look for another cluster within a second or two, where silence takes them minutes (measured on
Java's and librdkafka's clients). Members of the cluster, what copies between the two, and Kedge get in all the same.

What is in force is kept on disk. After a boot it is shut, whatever it was: a primary that was dead may have been taken
over from, and only the server knows. An order of an earlier epoch than the last one is nothing that is followed.
"""
