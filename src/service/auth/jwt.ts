import { createHash, randomUUID } from "node:crypto";
import { errors, jwtVerify, SignJWT } from "jose";
import { z } from "zod";

/** The claims of a token: whose it is and which logins of that user it belongs to. */
export interface TokenClaims {
  /** The account's, not its id: that is another's after a restore of an older backup. */
  readonly uid: string;
  readonly epoch: number;
}

/** Signs and checks tokens; whether their user is still there is asked elsewhere. */
export interface Tokens {
  readonly ttlMs: number;
  sign(claims: TokenClaims): Promise<string>;
  /** Undefined for everything that is no valid token of ours. */
  verify(token: string): Promise<TokenClaims | undefined>;
}

const ISSUER = "svc";
const ALGORITHM = "HS256";

/** Tokens whose signature was checked already: it stays right until they expire, and each check is a job for another thread. */
const MOST_CACHED = 10_000;

const Claims = z.object({
  sub: z.uuid(),
  // As large as the column: a larger one is no token of ours, not a fault of the database.
  epoch: z.int32(),
  jti: z.string(),
  exp: z.number(),
});

export function createTokens(secret: string, ttlMs: number): Tokens {
  const key = Buffer.from(secret, "utf8");
  const verified = new Map<string, TokenClaims & { readonly expiresAt: number }>();

  function cacheClaims(digest: string, claims: TokenClaims, expiresAt: number): TokenClaims {
    if (verified.size >= MOST_CACHED) verified.clear();
    verified.set(digest, { ...claims, expiresAt });
    return claims;
  }

  return {
    ttlMs,
    sign: ({ uid, epoch }) =>
      new SignJWT({ epoch })
        .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
        .setSubject(uid)
        .setIssuer(ISSUER)
        .setAudience(ISSUER)
        .setIssuedAt()
        .setExpirationTime(Math.floor((Date.now() + ttlMs) / 1_000))
        .setJti(randomUUID())
        .sign(key),
    async verify(token) {
      // Not the token itself: it is a secret.
      const digest = createHash("sha256").update(token).digest("base64");
      const known = verified.get(digest);
      if (known !== undefined && Date.now() < known.expiresAt) return { uid: known.uid, epoch: known.epoch };
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          issuer: ISSUER,
          audience: ISSUER,
          requiredClaims: ["sub", "iat", "exp", "jti", "epoch"],
        });
        const claims = Claims.safeParse(payload);
        if (!claims.success) return undefined;
        const { sub: uid, epoch, exp } = claims.data;
        return cacheClaims(digest, { uid, epoch }, exp * 1_000);
      } catch (error) {
        // Whatever is wrong with it, it is no token of ours: the caller gets one answer for all.
        if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
        throw error;
      }
    },
  };
}
