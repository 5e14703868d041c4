{{/* Names and labels. */}}
{{- define "taskyard.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "taskyard.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "taskyard.labels" -}}
{{ include "taskyard.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* A variable from a secret, if the operator names one: dict "name" "secret". */}}
{{- define "taskyard.secret" -}}
{{- if .secret.secretName }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret.secretName }}
      key: {{ .secret.secretKey }}
{{- end }}
{{- end -}}

{{/* The pod of one command: dict "root" "component" "values" "stored" (whether it needs the database). */}}
{{- define "taskyard.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
# Kubernetes would plant variables such as TASKYARD_PORT for a service of this name; unknown variables refuse to start.
enableServiceLinks: false
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: {{ .component }}
    image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: [{{ .component | quote }}]
    env:
      - name: TASKYARD_LOG_LEVEL
        value: {{ .root.Values.log.level | quote }}
      - name: TASKYARD_LOG_FORMAT
        value: {{ .root.Values.log.format | quote }}
      {{- if eq .component "api" }}
      - name: TASKYARD_LISTEN_HOST
        value: "0.0.0.0"
      - name: TASKYARD_LISTEN_PORT
        value: "8080"
      - name: TASKYARD_LISTEN_GRPC_PORT
        value: "8081"
      {{- end }}
      {{- if eq .component "worker" }}
      - name: TASKYARD_URL
        value: {{ printf "http://%s-api:%v" (include "taskyard.name" .root) .root.Values.service.port | quote }}
      - name: TASKYARD_WORKER_AGENTS
        value: {{ join "," .values.agents | quote }}
      {{- end }}
      {{- if .stored }}
      {{- $_ := required "database.secretName: name the secret with the Postgres URL" .root.Values.database.secretName }}
      {{- include "taskyard.secret" (dict "name" "DATABASE_URL" "secret" .root.Values.database) | nindent 6 }}
      {{- include "taskyard.secret" (dict "name" "REDIS_URL" "secret" .root.Values.redis) | nindent 6 }}
      {{- include "taskyard.secret" (dict "name" "TASKYARD_SECRETS_KEY" "secret" .root.Values.secrets) | nindent 6 }}
      {{- end }}
      {{- if .configured }}
      - name: TASKYARD_CONFIG
        value: /etc/taskyard/taskyard.toml
      {{- end }}
      {{- with .values.env }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- if eq .component "api" }}
    ports:
      - name: http
        containerPort: 8080
      - name: grpc
        containerPort: 8081
    livenessProbe:
      httpGet: { path: /healthz, port: http }
      periodSeconds: 10
      failureThreshold: 3
    readinessProbe:
      httpGet: { path: /readyz, port: http }
      periodSeconds: 5
    lifecycle:
      preStop:
        # Until the service stops sending here.
        sleep: { seconds: 5 }
    {{- end }}
    resources:
      {{- toYaml .values.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    {{- if .configured }}
    volumeMounts:
      - name: config
        mountPath: /etc/taskyard
        readOnly: true
    {{- end }}
{{- if .configured }}
volumes:
  - name: config
    configMap:
      name: {{ include "taskyard.name" .root }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
