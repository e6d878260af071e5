import { t } from '@lingui/core/macro';
import { listOf } from '#console/lib/format.ts';
import { type AnyStep, spanText, type Step } from './campaign.ts';
import { conditionText, customName } from './conditions.ts';

/** What a step that is no message does, in a sentence or several. */
export function stepTexts(step: Exclude<AnyStep, Step>): string[] {
  switch (step.kind) {
    case 'wait': {
      const span = spanText(step.for);
      return [t`Waits ${span}.`];
    }
    case 'wait_until': {
      const span = spanText(step.atMost);
      const conditions = listOf(step.any.map(conditionText), 'disjunction');
      return [
        t`Waits at most ${span} until: ${conditions}.`,
        step.else === 'end'
          ? t`If that does not happen, it ends.`
          : t`If that does not happen, it continues.`,
      ];
    }
    case 'branch':
      return [t`Takes the first branch whose conditions hold.`];
    case 'do':
      return doTexts(step);
    case 'end':
      return [t`The campaign ends here for the contact.`];
  }
}

function doTexts({
  addTags = [],
  removeTags = [],
  setFields = {},
  moveToListId,
  assign,
  enterCampaignId,
  webhook,
}: Extract<AnyStep, { kind: 'do' }>): string[] {
  const [added, removed] = [listOf(addTags), listOf(removeTags)];
  const fields = listOf(
    Object.entries(setFields).map(([field, value]) => `${customName(field) || field} = “${value}”`),
  );
  return [
    added !== '' && t`Adds the tags ${added}.`,
    removed !== '' && t`Removes the tags ${removed}.`,
    fields !== '' && t`Sets ${fields}.`,
    moveToListId !== undefined && t`Moves the contact to another list.`,
    assign !== undefined &&
      (assign === null ? t`Assigns the conversation to nobody.` : t`Assigns the conversation.`),
    enterCampaignId !== undefined && t`Starts another campaign for the contact.`,
    webhook !== undefined && t`Calls a webhook.`,
  ].filter((text) => text !== false);
}
