import { useQuery } from '@tanstack/react-query';
import { ServiceDocument } from '../api/generated/graphql';
import { request } from '../api/request';

const EVERY = 15_000;

/** The state of the service, kept fresh. */
export function useService() {
  return useQuery({
    queryKey: ['service'],
    queryFn: ({ signal }) => request(ServiceDocument, {}, signal),
    select: (answer) => answer.service,
    refetchInterval: EVERY,
  });
}
