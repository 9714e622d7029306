import { useEffect } from "preact/hooks";
import { t } from "../../i18n";
import { en, type Key } from "../../i18n/en";
import type { Conversation } from "../../state/conversation";
import { isMe, join, presenceOf } from "../../state/together";
import type { Presence, Right } from "../../wire/types";
import { Menu } from "../compose/Menu";
import { hueOf, initials } from "./person";

const shown = 3; // faces; as many as fit beside a title on a phone

// Who is here: a few initials, and behind them the list.
export function Together({ conversation }: { conversation: Conversation }) {
  const id = conversation.id;
  useEffect(() => join(id), [id]);
  const { total, clients } = presenceOf(id).value;
  if (total < 2) return null; // nobody but oneself
  const known = [...clients].sort((a, b) => Number(isMe(a)) - Number(isMe(b)) || a.name.localeCompare(b.name));
  const rest = total - Math.min(shown, known.length);
  return (
    <Menu name={t("together.who", { n: total })} class="faces" face={
      <>
        {known.slice(0, shown).map((c) => <Face key={c.connectionId} of={c} />)}
        {rest > 0 && <span class="face rest" data-initials={`+${rest}`} aria-hidden="true" />}
      </>
    }>
      {() => (
        <>
          <h2>{t("together.list")}</h2>
          <ul class="people">
            {known.map((c) => <Present key={c.connectionId} of={c} />)}
          </ul>
          {total > known.length && <p class="menu-note">{t("together.more", { n: total - known.length })}</p>}
        </>
      )}
    </Menu>
  );
}

// The initials are drawn, not text: what is read out is the name beside them.
function Face({ of }: { of: { name: string; visible?: boolean } }) {
  return <span class={of.visible === false ? "face away" : "face"} data-hue={hueOf(of.name)} data-initials={initials(of.name)} aria-hidden="true" />;
}

function Present({ of }: { of: Presence }) {
  const words = [of.kind && kindName(of.kind), of.rights && rightName(of.rights), of.visible === false && t("together.away")];
  return (
    <li class="person">
      <Face of={of} />
      <span class="menu-text">
        <span>{of.name}{isMe(of) && ` (${t("together.you")})`}</span>
        <small>{words.filter(Boolean).join(" · ")}</small>
      </span>
    </li>
  );
}

function kindName(kind: string): string {
  const key = `together.kind.${kind}`;
  return key in en ? t(key as Key) : kind;
}

// A device's rights grow: the highest one says it all.
function rightName(rights: readonly Right[]): string {
  const highest = (["admin", "control", "answer", "view"] as const).find((r) => rights.includes(r));
  return highest ? t(`together.right.${highest}`) : "";
}
