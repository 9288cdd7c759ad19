import Foundation
import ObjectTransfer
import Testing

/// The sentence that a service manager shows of an agent.
struct TransferSentenceTests {
    private func status(_ activity: TransferStatus.Activity, _ change: (inout TransferStatus) -> Void = { _ in }) -> TransferStatus {
        var status = TransferStatus(activity)
        change(&status)
        return status
    }

    @Test("A sentence says whose files wait, how many and how large, or what stands in the way")
    func sentences() {
        let cases: [(TransferStatus, String)] = [
            (status(.off), "beginning"),
            (status(.off) { $0.reason = "no account" }, "no account"),
            (status(.paused) { ($0.account, $0.reason) = ("alice", "paused; go on with: …") }, "alice: paused"),
            (status(.idle) { ($0.account, $0.filesInCloud) = ("alice", 1) }, "alice: up to date; 1 file in the cloud"),
            (status(.working) { $0.account = "alice" }, "alice: looking at both sides"),
            (
                status(.working) { ($0.account, $0.filesToSend, $0.bytesToSend) = ("alice", 3, 1_200_000) },
                "alice: 3 files to send, \(Int64(1_200_000).formatted(.byteCount(style: .file)))"
            ),
            (
                status(.working) { ($0.account, $0.filesToSend, $0.filesToFetch, $0.bytesToFetch) = ("alice", 1, 2, 7) },
                "alice: 1 file to send, \(Int64(0).formatted(.byteCount(style: .file))); 2 files to fetch, \(Int64(7).formatted(.byteCount(style: .file)))"
            ),
            (status(.blocked) { ($0.account, $0.reason, $0.filesToSend) = ("alice", "the cloud is full", 9) }, "alice: the cloud is full"),
            (status(.waiting) { ($0.account, $0.reason) = ("alice", "it does not answer") }, "alice: it does not answer"),
        ]
        for (status, sentence) in cases { #expect(status.sentence == sentence) }
    }
}
