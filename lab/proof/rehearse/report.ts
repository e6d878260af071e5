import type { Alert } from './alerts.ts';
import type { Fault } from './fault.ts';

export interface Rehearsal {
  command: string;
  messages: number;
  accepted: number;
  minutes: number;
  load: string;
  cores: number;
  faults: readonly (Pick<Fault, 'name' | 'text' | 'alerts'> & { observed: string })[];
  alerts: readonly Alert[];
  /** Problems by judge. */
  verdict: Readonly<Record<string, readonly string[]>>;
  tally: Readonly<Record<string, string>>;
}

/** The report in Markdown, for `docs/rehearsal.md`. */
export function reportOf(rehearsal: Rehearsal): string {
  const { command, messages, accepted, minutes, load, cores, faults, alerts, verdict, tally } = rehearsal;
  const wrong = Object.values(verdict).flat().length;
  const fired = alerts.map(({ name, during, seconds }) => `\`${name}\` (${during}, ${seconds} s)`);
  const expected = faults.flatMap((fault) => fault.alerts.map((alert) => `\`${alert}\` (${fault.name})`));
  return `# Rehearsal

\`npm run rehearse\` runs the shape of production on one machine, without containers: PostgreSQL, a Temporal server with its schema on PostgreSQL, two API and three worker processes with \`NODE_ENV=production\`, a load balancer, Prometheus with the rules of \`deploy/\`, carriers (BlueBubbles and Twilio over HTTPS) and a customer's server. All connections use TLS: Temporal with client certificates, also between its services; PostgreSQL with \`sslmode=verify-full\`; and payloads in Temporal are encrypted. While messages of all kinds are sent, everything happens that [scaling](scaling.md#rolling-restarts) says the product survives. The judges compare what callers were promised with the carriers' logs, the customer's server, PostgreSQL and the histories. \`npm run rehearse -- --restore\` is the [backup drill](backup.md#measured).

This page is the report of a run. It is written by the program:

\`\`\`sh
${command}
\`\`\`

**${wrong === 0 ? 'Nothing is wrong' : `${wrong} problems`}.** ${messages} messages in ${minutes} minutes; ${accepted} texts accepted by the API. ${cores} cores, with a load average of ${load} at the end.

| Fault | Observed |
| - | - |
${faults.map(({ text, observed }) => `| ${text} | ${observed} |`).join('\n')}

The judges count ${Object.entries(verdict)
    .map(([name, problems]) => `${problems.length} ${name}`)
    .join(', ')}, among ${Object.entries(tally)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')}.

Of \`deploy/prometheus/alerts.yml\`, evaluated every 5 seconds, fired ${fired.join(', ') || 'none'}. Expected: ${expected.join(', ') || 'none'}.

The panels of \`deploy/grafana/linepace.json\` with what Prometheus recorded; the program draws them itself, without Grafana. Shaded: the faults.

![The panels of the dashboard during the rehearsal](images/rehearsal-dashboard.svg)
`;
}
