import { Badge, Status } from '#console/components/badge.tsx';
import { isFailing, type Webhook } from './webhook.ts';

/** Whether it is on, and whether its URL takes what is sent. */
export function State({ webhook }: { webhook: Webhook }) {
  if (!webhook.isActive) return <Status status="off" />;
  return isFailing(webhook) ? <Badge tone="bad">Failing</Badge> : <Status status="active" />;
}
