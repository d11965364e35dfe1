import { useQuery } from '@tanstack/react-query';
import { AuditLogDocument, type AuditLogQueryVariables, AuditVerificationDocument } from '../api/generated/graphql';
import { request } from '../api/request';

/** The latest entries of the audit log that fit. */
export function useAudit(asked: AuditLogQueryVariables) {
  return useQuery({
    queryKey: ['audit', asked],
    queryFn: ({ signal }) => request(AuditLogDocument, asked, signal),
    select: (answer) => answer.audit,
  });
}

/** Whether the lines of the log are as they were written; asked for by `refetch` alone, since the service reads files for it. */
export function useAuditVerification() {
  return useQuery({
    queryKey: ['audit-verification'],
    queryFn: ({ signal }) => request(AuditVerificationDocument, {}, signal),
    select: (answer) => answer.auditVerification,
    enabled: false,
  });
}
