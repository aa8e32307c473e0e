#!/usr/bin/perl
# An agent of the Agent Client Protocol that does what the fake CLI B does in a turn: it writes lines, each with the time at
# which it is written. sandbox-agent starts it as `opencode acp`.
use strict;
use warnings;
use Time::HiRes;
$| = 1;

sub update {
    print '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":'
        . qq({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$_[0]"}}}}\n);
}

while (my $line = <STDIN>) {
    my ($id) = $line =~ /"id":\s*(\d+)/;
    my ($method) = $line =~ /"method":\s*"([^"]+)"/;
    next unless defined $id && defined $method;
    my $result = '{}';
    if ($method eq 'initialize') { $result = '{"protocolVersion":1,"agentCapabilities":{}}' }
    if ($method eq 'session/new') { $result = '{"sessionId":"one"}' }
    if ($method eq 'session/prompt') {
        if (my ($n, $s) = $line =~ /stamped (\d+) ([\d.]+)/) {
            for (1 .. $n) { Time::HiRes::sleep($s); update(sprintf '%.6f', Time::HiRes::time()) }
        }
        if (my ($n) = $line =~ /burst (\d+)/) {
            $| = 0;
            update($_) for 1 .. $n;
            $| = 1;
        }
        $result = '{"stopReason":"end_turn"}';
    }
    print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n);
}
