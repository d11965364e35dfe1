"""Rights: what a caller may do, and the graph for a caller who may read only some namespaces. Everything else appears not to exist.

A node belongs to namespaces:

- a platform, dataset, column, version, system, pipeline, job or check to the namespace that its id names;
- a run, stage, task, operator or partition to the namespaces of its nearest containers whose ids name one. If these containers are in
  several namespaces, the caller needs all of them;
- an owner, tag or term to none. The caller sees them if they describe something visible;
- a type, an actor or data that users declared to none. A restricted caller never sees these.

`scopes` and `rights` state what a caller may do. `patterns` decides about namespaces, `visibility` about nodes, and `visible_properties`
about the properties of a node or an edge. `visible_walks` restricts walks, and `node_lists` restricts lists. `restricted_store` is the
graph store over another store, and returns nothing else. A walk follows only visible nodes: a connection of two visible nodes through
hidden ones is left out, and the answer reports that something is hidden.
"""
