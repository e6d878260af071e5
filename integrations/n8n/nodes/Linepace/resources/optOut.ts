import type { INodeProperties } from 'n8n-workflow';
import { shownFor } from './fields';

const path = '=/api/opt-outs/{{encodeURIComponent($parameter.address)}}';

export const optOutDescription: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: shownFor('optOut'),
    options: [
      {
        name: 'Create',
        value: 'create',
        action: 'Opt a contact out',
        description: 'Send nothing more to an address',
        routing: {
          request: { method: 'POST', url: '/api/opt-outs', body: { address: '={{$parameter.address}}' } },
        },
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get an opt out',
        description: 'Get whether an address has opted out',
        routing: { request: { method: 'GET', url: path } },
      },
    ],
    default: 'create',
  },
  {
    displayName: 'Address',
    name: 'address',
    type: 'string',
    default: '',
    required: true,
    placeholder: '+14155550123',
    displayOptions: shownFor('optOut'),
    description: 'A phone number or an email address',
  },
];
