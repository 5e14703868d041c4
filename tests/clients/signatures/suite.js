// What Taskyard signed, verified by the reference package of Standard Webhooks and, with the public keys, by Node's own crypto.
// Usage: suite.js FOLDER, with signed.json in it. One line a check in FOLDER/results.tsv.
const { createPublicKey, verify } = require('crypto');
const { appendFileSync, readFileSync } = require('fs');
const { join } = require('path');
const { Webhook } = require('standardwebhooks');

const folder = process.argv[2];
const signed = JSON.parse(readFileSync(join(folder, 'signed.json'), 'utf8'));

function check(name, holds) {
  console.log(`${holds ? 'ok    ' : 'FAILED'}  JS      ${name}`);
  appendFileSync(join(folder, 'results.tsv'), `JS\t${name}\t${holds ? 'ok' : 'FAILED'}\n`);
  if (!holds) process.exitCode = 1;
}

function accepts(secret, headers, body) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

// v1a: Ed25519 over the same content.
function proves(key, headers, body) {
  const x = Buffer.from(key.slice('whpk_'.length), 'base64').toString('base64url');
  const pair = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  const signatures = headers['webhook-signature'].split(' ').filter((each) => each.startsWith('v1a,'));
  return signatures.some((each) => verify(null, content, pair, Buffer.from(each.slice(4), 'base64')));
}

const every = (holds) => signed.length > 0 && signed.every(holds);
check('accepts with every secret that counts', every((one) => one.secrets.every((secret) => accepts(secret, one.headers, one.body))));
check('refuses another body', every((one) => !accepts(one.secrets[0], one.headers, `${one.body} `)));
check('refuses another id', every((one) => !accepts(one.secrets[0], { ...one.headers, 'webhook-id': 'x' }, one.body)));
const later = (one) => ({ ...one.headers, 'webhook-timestamp': String(Number(one.headers['webhook-timestamp']) + 1) });
check('refuses another time', every((one) => !accepts(one.secrets[0], later(one), one.body)));
check('refuses another secret', every((one) => !accepts(`whsec_${Buffer.alloc(32).toString('base64')}`, one.headers, one.body)));
check('every public key proves it', every((one) => one.keys.every((key) => proves(key, one.headers, one.body))));
check('and nothing else', every((one) => one.keys.every((key) => !proves(key, one.headers, `${one.body} `) && !proves(key, later(one), one.body))));
const foreign = (one) => signed.find((other) => !other.keys.includes(one.keys[0]));
check('nor do the keys of another tenant', every((one) => !proves(foreign(one).keys[0], one.headers, one.body)));
