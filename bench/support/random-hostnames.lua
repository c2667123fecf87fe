-- wrk -s random-hostnames.lua https://HOSTNAME:PORT/ -- ZONE COUNT: the Host of each request is one of COUNT below ZONE, as numbered-names.ts names them.
local zone, count

-- The name goes into TLS as it is; the address needs no resolver.
function wrk.resolve(_, service)
  wrk.addrs = wrk.lookup("127.0.0.1", service)
end

function init(args)
  zone, count = args[1], tonumber(args[2])
  math.randomseed(os.time())
end

function request()
  return string.format("GET / HTTP/1.1\r\nHost: n%07d.%s\r\n\r\n", math.random(0, count - 1), zone)
end
