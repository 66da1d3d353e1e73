{{- /* Its own name is not that of the release: a hook deletes a Secret of its name, and people name theirs so. */ -}}
{{- define "whystop.secret" -}}
{{ .Values.existingSecret | default (printf "%s-values" .Release.Name) }}
{{- end }}

{{- /* Labels of one component. Takes (list root name). */ -}}
{{- define "whystop.labels" -}}
app.kubernetes.io/name: whystop
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* What all pods have in common: who they run as, and the volumes that may be written. */ -}}
{{- define "whystop.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: data, emptyDir: {}}
  - {name: tmp, emptyDir: {}}
{{- end }}

{{- define "whystop.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: {name: {{ include "whystop.secret" . }}}
env:
  - {name: WHYSTOP_LOG_FORMAT, value: json}
  - {name: WHYSTOP_HTTPS, value: "1"}
  - {name: WHYSTOP_HSTS, value: host}
  {{- with .Values.allowedHosts }}
  - {name: WHYSTOP_ALLOWED_HOSTS, value: {{ . | quote }}}
  {{- end }}
  {{- with .Values.trustedProxies }}
  - {name: WHYSTOP_TRUSTED_PROXIES, value: {{ . | quote }}}
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: data, mountPath: /var/lib/whystop}
  - {name: tmp, mountPath: /tmp}
{{- end }}
