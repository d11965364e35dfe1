import { useQuery } from '@tanstack/react-query';
import { NodeDocument, type NodeKind } from '../api/generated/graphql';
import { request } from '../api/request';

const CHILDREN = 200;

/** A node with its containers and those of its children that are of one kind. */
export function useNode(id: string | undefined, children: NodeKind) {
  return useQuery({
    queryKey: ['node', id, children],
    queryFn: ({ signal }) => request(NodeDocument, { id: id ?? '', kinds: [children], first: CHILDREN }, signal),
    select: (answer) => answer.node,
    enabled: id !== undefined,
  });
}
