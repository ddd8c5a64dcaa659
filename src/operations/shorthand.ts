/** A flag that is shorter than the fields it sets. src/body/shorthand-edits.ts and src/body/chat/ apply each kind. */
export type Shorthand = {
  readonly summary: string;
  readonly short?: string;
  readonly common?: true;
  readonly conflicts?: readonly string[];
} & (
  | { readonly kind: 'message'; readonly role: 'system' | 'developer'; readonly value: string }
  | { readonly kind: 'role-message'; readonly value: string }
  | { readonly kind: 'prefill'; readonly value: string }
  | { readonly kind: 'conversation'; readonly value: string }
  | { readonly kind: 'reply-schema'; readonly value: string }
  | { readonly kind: 'attach'; readonly value: string }
  | { readonly kind: 'logprobs' }
  | { readonly kind: 'age'; readonly member: string; readonly value: string }
  | { readonly kind: 'copy'; readonly from: string; readonly to: string }
);

export type Shorthands = { readonly [flag: string]: Shorthand };
