import * as z from "zod";

// The page's policy lets nothing make programs of text; without this zod would try, and the browser would report it. In a
// file of its own: it has to run before any schema is made.
z.config({ jitless: true });
