"""The graph as a caller sees it who may read some namespaces alone: everything else is as if it did not exist.

A node belongs to namespaces:

- a platform, dataset, column, version, system, pipeline, job or check to the one that its id names;
- a run, stage, task, operator or partition to those of what contains it: of the nearest containers whose ids name one. Where these are of
  several namespaces, the caller needs all of them;
- an owner, tag or term to none. The caller sees those that describe something that he sees;
- a type, an actor or data that users declared to none. Nobody sees them who is restricted.

`patterns` says which namespaces, `visible` which nodes, `shown` what of a node or an edge, `walks` what a walk reaches, `lists` what there
is; `store` is the graph store over another that hands out nothing else. A walk goes over visible nodes alone: what is known to lead from
one of them to another by way of hidden ones is left out, and the answer says that something is.
"""
