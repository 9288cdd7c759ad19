import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores

/// Where files lie, and which of them a store cares for.
struct ContentLayoutTests {
    @Test("logs, values, epoch marks and directories above are reasons to exchange; drafts, receipts and what is beside the content are not")
    func concerns() {
        let container = FilePath("/c/alice/app")
        let layout = ContentLayout(container: container, contentName: "People")
        let peer = PeerIdentifier(account: "alice", uuid: UUID())
        let name = LogFileName(sequence: 1, hash: ContentHash(of: []))
        let reasons = [
            layout.logs(of: peer, epoch: 1).appending(name.description), layout.logs(of: peer, epoch: 1), layout.peer(peer),
            layout.values(of: peer, epoch: 1).appending("x"), layout.epochMark(2, by: peer), layout.directory, container, FilePath("/c"),
        ]
        for path in reasons { #expect(layout.concerns(path), "\(path)") }
        let others = [
            layout.temporary(of: peer, epoch: 1).appending("draft"), layout.temporary(of: peer, epoch: 1),
            layout.receipts(of: peer, epoch: 1).appending("3"), container.appending("Documents/receipts.txt"),
            container.appending("CoreData/Places"),
        ]
        for path in others { #expect(!layout.concerns(path), "\(path)") }
    }
}
