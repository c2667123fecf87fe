import { afterAll, beforeAll, describe, expect, test } from 'vitest'
