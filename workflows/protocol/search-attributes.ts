import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';

/** Few, because a SQL visibility store has few columns for them. Ids and states only. */
export const WORKSPACE_ID = defineSearchAttributeKey('WorkspaceId', 'KEYWORD');
export const LINE_ID = defineSearchAttributeKey('LineId', 'KEYWORD');
/** `idle`, `waiting`, the state of a line (`sending`, `paused`, `blocked`, …), or the status of the workflow's subject. */
export const STATE = defineSearchAttributeKey('State', 'KEYWORD');

/** The sets of attributes to try at a start, in order, because a namespace may lack some or all of them. */
export function startAttributes({
  state,
  workspaceId,
  lineId,
}: {
  state: string;
  workspaceId: string;
  lineId?: string;
}): TypedSearchAttributes[] {
  const ids = [
    { key: WORKSPACE_ID, value: workspaceId },
    ...(lineId === undefined ? [] : [{ key: LINE_ID, value: lineId }]),
  ];
  return [[...ids, { key: STATE, value: state }], ids, []].map((pairs) => new TypedSearchAttributes(pairs));
}
