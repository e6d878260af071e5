import { type FragmentSqlToken, sql } from 'slonik';
import { type CampaignStep, messageSteps } from '#domain/campaigns/step.ts';
import { VARIANT_NAMES } from '#domain/messages/variant-name.ts';

/** A common table expression `steps` with the texts of messages, by the id of the step and the variant. @param used null: of all. */
export function stepTexts(
  all: readonly CampaignStep[],
  used: ReadonlySet<string> | null = null,
): FragmentSqlToken {
  const steps = messageSteps(all)
    .filter(({ id }) => used?.has(id) ?? true)
    .map(({ id, step }) => ({ id, step }));
  return sql.fragment`steps as materialized (
      select s.placed ->> 'id' step_id, v.name variant, s.placed -> 'step' ->> 'messageType' channel,
        coalesce(v.text ->> 'body', s.placed -> 'step' ->> 'message') body,
        coalesce(v.text ->> 'subject', s.placed -> 'step' ->> 'subject') subject,
        array(select jsonb_array_elements_text(s.placed -> 'step' -> 'attachmentUrls')) attachment_urls,
        (s.placed -> 'step' ->> 'smsFallbackEnabled')::boolean sms_fallback_enabled,
        s.placed -> 'step' ->> 'smsFallbackMessage' sms_fallback_message
      from jsonb_array_elements(${sql.jsonb(steps)}) s (placed)
      left join lateral (
        select (${sql.array([...VARIANT_NAMES], 'text')})[v.number] "name", v.text
        from jsonb_array_elements(s.placed -> 'step' -> 'variants') with ordinality v (text, number)
      ) v on true
    )`;
}
