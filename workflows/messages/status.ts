import { defineQuery } from '@temporalio/workflow';

/** What a workflow waits for. */
export interface Status {
  /** As its search attribute `State`. */
  state: string;
  reason: string;
  /** ISO 8601; null: until something happens. */
  until: string | null;
}

/** Answered by every long-lived workflow. */
export const statusQuery = defineQuery<Status>('status');
