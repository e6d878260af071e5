import type { INodeProperties } from 'n8n-workflow';
import { IDEMPOTENT, LIST_OF_TEXTS, shownFor } from './fields';

const reply = shownFor('conversation', 'reply');
const path = '=/api/conversations/{{encodeURIComponent($parameter.address)}}';

export const conversationDescription: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: shownFor('conversation'),
    options: [
      {
        name: 'Add Tags',
        value: 'addTags',
        action: 'Add tags to a conversation',
        routing: { request: { method: 'POST', url: `${path}/tags` } },
      },
      {
        name: 'Close',
        value: 'close',
        action: 'Close a conversation',
        routing: { request: { method: 'PATCH', url: path, body: { status: 'closed' } } },
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get a conversation',
        description: 'Get a conversation with its latest messages',
        routing: { request: { method: 'GET', url: path } },
      },
      {
        name: 'Reply',
        value: 'reply',
        action: 'Reply in a conversation',
        routing: { request: { method: 'POST', url: '/api/inbox/send-reply', headers: IDEMPOTENT } },
      },
    ],
    default: 'reply',
  },
  {
    displayName: 'Address',
    name: 'address',
    type: 'string',
    default: '',
    required: true,
    placeholder: '+14155550123',
    displayOptions: shownFor('conversation', 'addTags', 'close', 'get'),
    description: 'The phone number or email address of the contact',
  },
  {
    displayName: 'To',
    name: 'recipient',
    type: 'string',
    default: '',
    required: true,
    placeholder: '+14155550123',
    displayOptions: reply,
    description: 'The phone number or email address of the contact',
    routing: { send: { type: 'body', property: '={{$value.includes("@") ? "email" : "phone"}}' } },
  },
  {
    displayName: 'Message',
    name: 'message',
    type: 'string',
    typeOptions: { rows: 4 },
    default: '',
    required: true,
    displayOptions: reply,
    routing: { send: { type: 'body', property: 'message' } },
  },
  {
    displayName: 'Tags',
    name: 'tags',
    type: 'string',
    default: '',
    required: true,
    displayOptions: shownFor('conversation', 'addTags'),
    description: 'Tags, separated by commas',
    routing: { send: { type: 'body', property: 'tags', value: LIST_OF_TEXTS } },
  },
];
