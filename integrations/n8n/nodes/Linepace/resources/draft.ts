import type { INodeProperties } from 'n8n-workflow';
import { idField, shownFor } from './fields';

const SETTLE = '/api/knowledge-base/auto-replies';

export const draftDescription: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: shownFor('draft'),
    options: [
      {
        name: 'Approve',
        value: 'approve',
        action: 'Approve a draft',
        description: 'Send the answer that the model wrote',
        routing: { request: { method: 'POST', url: SETTLE, body: { action: 'approve' } } },
      },
      {
        name: 'Reject',
        value: 'reject',
        action: 'Reject a draft',
        description: 'Discard the answer that the model wrote',
        routing: { request: { method: 'POST', url: SETTLE, body: { action: 'reject' } } },
      },
    ],
    default: 'approve',
  },
  {
    ...idField('replyId', 'Draft ID', shownFor('draft')),
    description: 'The ID from the event message.ai_draft',
    routing: { send: { type: 'body', property: 'replyId' } },
  },
  {
    displayName: 'Text',
    name: 'text',
    type: 'string',
    typeOptions: { rows: 4 },
    default: '',
    displayOptions: shownFor('draft', 'approve'),
    description: 'A text to send instead of the draft; empty: the draft',
    routing: { send: { type: 'body', property: 'message', value: '={{$value || undefined}}' } },
  },
];
