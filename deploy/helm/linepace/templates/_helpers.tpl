{{/* The image of the chart's version. */}}
{{- define "linepace.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ include "linepace.build" . }}
{{- end -}}
{{- end -}}

{{/* The build of the workers, which Temporal knows the image's code by. */}}
{{- define "linepace.build" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* Of every pod: no privileges, no token of the cluster. */}}
{{- define "linepace.podSecurity" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Of every container: it writes to /tmp only. */}}
{{- define "linepace.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "linepace.volumes" -}}
volumes:
  - { name: tmp, emptyDir: { sizeLimit: 1Gi } }
{{- end -}}

{{/* Pods on different nodes, where there are some. Called with the labels of the pods. */}}
{{- define "linepace.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ toJson . }}
{{- end -}}

{{/* Everywhere but the metadata service of the cloud, whose credentials no process needs. */}}
{{- define "linepace.egress" -}}
egress:
  - to:
      - ipBlock: { cidr: 0.0.0.0/0, except: [169.254.0.0/16] }
      - ipBlock: { cidr: '::/0', except: ['fe80::/10', 'fd00:ec2::/32'] }
      - namespaceSelector: {}
{{- end -}}
