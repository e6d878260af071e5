import type { INodeProperties } from 'n8n-workflow';
import { contactFields, customFields, idField, IDEMPOTENT, LIST_OF_TEXTS, shownFor } from './fields';

const create = shownFor('lead', 'create');
const update = shownFor('lead', 'update');

export const leadDescription: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: shownFor('lead'),
    options: [
      {
        name: 'Add Tags',
        value: 'addTags',
        action: 'Add tags to a lead',
        routing: { request: { method: 'POST', url: '=/api/leads/{{$parameter.leadId}}/tags' } },
      },
      {
        name: 'Create',
        value: 'create',
        action: 'Create a lead',
        description: 'Save a lead in a list; a lead with the same email or phone is not saved twice',
        routing: { request: { method: 'POST', url: '/api/leads', headers: IDEMPOTENT } },
      },
      {
        name: 'Delete',
        value: 'delete',
        action: 'Delete a lead',
        routing: { request: { method: 'DELETE', url: '=/api/leads/{{$parameter.leadId}}' } },
      },
      {
        name: 'Get',
        value: 'get',
        action: 'Get a lead',
        routing: { request: { method: 'GET', url: '=/api/leads/{{$parameter.leadId}}' } },
      },
      {
        name: 'Get Many',
        value: 'getAll',
        action: 'Get many leads',
        routing: {
          request: { method: 'GET', url: '/api/leads' },
          output: { postReceive: [{ type: 'rootProperty', properties: { property: 'leads' } }] },
        },
      },
      {
        name: 'Update',
        value: 'update',
        action: 'Update a lead',
        routing: { request: { method: 'PATCH', url: '=/api/leads/{{$parameter.leadId}}' } },
      },
    ],
    default: 'create',
  },
  idField('leadId', 'Lead ID', shownFor('lead', 'addTags', 'delete', 'get', 'update')),
  {
    displayName: 'Tags',
    name: 'tags',
    type: 'string',
    default: '',
    required: true,
    displayOptions: shownFor('lead', 'addTags'),
    description: 'Tags, separated by commas',
    routing: { send: { type: 'body', property: 'tags', value: LIST_OF_TEXTS } },
  },
  {
    displayName: 'List ID',
    name: 'listId',
    type: 'string',
    default: '',
    displayOptions: create,
    description: 'The list that gets the lead; by default, Quick Sends',
    routing: { send: { type: 'body', property: 'listId', value: '={{$value || undefined}}' } },
  },
  {
    displayName: 'Fields',
    name: 'fields',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: create,
    description: 'An email or a phone is required',
    options: [...contactFields('leads[0].'), customFields('leads[0].')],
  },
  {
    displayName: 'Fields',
    name: 'changes',
    type: 'collection',
    placeholder: 'Add Field',
    default: {},
    displayOptions: update,
    options: [...contactFields(''), customFields('')],
  },
  {
    displayName: 'Limit',
    name: 'limit',
    type: 'number',
    typeOptions: { minValue: 1, maxValue: 200 },
    default: 50,
    displayOptions: shownFor('lead', 'getAll'),
    description: 'Max number of results to return',
    routing: { send: { type: 'query', property: 'limit' } },
  },
  {
    displayName: 'Filters',
    name: 'filters',
    type: 'collection',
    placeholder: 'Add Filter',
    default: {},
    displayOptions: shownFor('lead', 'getAll'),
    options: [
      {
        displayName: 'List ID',
        name: 'listId',
        type: 'string',
        default: '',
        routing: { send: { type: 'query', property: 'listId' } },
      },
      {
        displayName: 'Search',
        name: 'search',
        type: 'string',
        default: '',
        description: 'Part of a name, company, email or phone',
        routing: { send: { type: 'query', property: 'search' } },
      },
    ],
  },
];
