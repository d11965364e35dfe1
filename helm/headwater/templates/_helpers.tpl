{{- define "headwater.name" -}}
{{- if contains "headwater" .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-headwater" .Release.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "headwater.selector" -}}
app.kubernetes.io/name: headwater
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end }}

{{- define "headwater.labels" -}}
app.kubernetes.io/name: headwater
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "headwater.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "headwater.hosts" -}}
{{- $name := include "headwater.name" . }}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}
{{- $hosts = concat $hosts .Values.hosts }}
{{- if .Values.ingress.enabled }}{{ $hosts = append $hosts .Values.ingress.host }}{{ end }}
{{- $hosts | uniq | toJson }}
{{- end }}

{{/* Of every pod: it may write to its volumes alone, and is nobody in particular. */}}
{{- define "headwater.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false # else a service called headwater sets HEADWATER_PORT=tcp://…, which is no port
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "headwater.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "headwater.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "home-%s-0" (include "headwater.name" .)) }}
{{- end }}

{{- define "headwater.fileMounts" -}}
{{- range .Values.files.names }}
- { name: files, mountPath: {{ printf "/var/lib/headwater/%s" . | quote }}, subPath: {{ . | quote }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "headwater.fileVolume" -}}
{{- if .Values.files.names }}
- name: files
  secret: { secretName: {{ required "files.names needs files.existingSecret" .Values.files.existingSecret | quote }}, defaultMode: 0440 }
{{- end }}
{{- end }}

{{/* What every process of the service is told: the service and the backup. */}}
{{- define "headwater.env" -}}
- { name: HEADWATER_HOME, value: /var/lib/headwater }
- { name: HEADWATER_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
- { name: HEADWATER_LOG_FORMAT, value: json }
{{- if .Values.graph.url }}
- { name: HEADWATER_STORE, value: {{ .Values.graph.url | quote }} }
- { name: HEADWATER_STORE_USER, value: {{ .Values.graph.user | quote }} }
{{- if .Values.graph.existingSecret }}
- name: HEADWATER_STORE_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .Values.graph.existingSecret | quote }}, key: password } }
{{- end }}
{{- end }}
{{- if .Values.ingestLog.url }}
{{- if not (and .Values.existingSecret .Values.graph.url .Values.associations) }}
{{- fail "ingestLog.url: what replicas share needs existingSecret (the same key for all), graph.url and associations, too" }}
{{- end }}
{{- if .Values.persistence.existingClaim }}
{{- fail "ingestLog.url: each replica has a home of its own, and persistence.existingClaim is one for all" }}
{{- end }}
{{- if .Values.backup.enabled }}
{{- fail "ingestLog.url: the log and the associations are in no home; back up the database and the bucket instead of backup.enabled" }}
{{- end }}
- { name: HEADWATER_INGEST_LOG, value: {{ .Values.ingestLog.url | quote }} }
- { name: HEADWATER_INGEST_LOG_USER, value: {{ .Values.ingestLog.user | quote }} }
{{- if .Values.ingestLog.existingSecret }}
- name: HEADWATER_INGEST_LOG_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .Values.ingestLog.existingSecret | quote }}, key: password } }
{{- end }}
{{- else if .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled: replicas need ingestLog.url, a log that they share" }}
{{- else if gt (int .Values.replicas) 1 }}
{{- fail "replicas: more than one needs ingestLog.url, a log that they share" }}
{{- end }}
{{- if .Values.associations }}
- { name: HEADWATER_ASSOCIATIONS, value: {{ .Values.associations | quote }} }
{{- end }}
{{- range $name, $value := .Values.settings }}
- { name: {{ $name | quote }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
