internal import Foundation
internal import StoreAuthority
internal import StoreExchange
internal import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Verifies every file of a content.
struct ContentVerifier {
    let layout: ContentLayout
    let files: any FileLayer
    let now: Date
    /// Called before each file that is read.
    let progress: (FilePath) -> Void

    func verify() -> ContentVerification {
        let name = layout.content
        var found = ContentVerification(content: name, path: layout.directory.string)
        let entries = found.findings.entries(of: layout.directory, files) { name in
            UbiquityContainer.isOfContent(name) ? .directory : nil
        }
        verifyMarks(&found)
        let authority = authority
        // Policies begin epochs in a container with a scope.
        if let authority { found.epoch = authority.policy?.value.epoch ?? 1 }
        var peers: [Int64: [PeerIdentifier]] = [:]
        for peer in entries.compactMap({ PeerIdentifier($0) }) {
            for epoch in epochs(of: peer, &found) { peers[epoch, default: []].append(peer) }
        }
        for (epoch, peers) in peers.sorted(by: { $0.key < $1.key }) {
            var verifier = EpochVerifier(
                layout: layout, contentName: name, epoch: epoch, files: files, clock: HybridTime(now), progress: progress, found: found)
            verifier.authority = authority
            verifier.verify(peers)
            found = verifier.found
        }
        // A directory that cannot be listed has already been reported.
        let survey = try? ContainerSurvey.store(name, layout)
        found.devices = (survey?.peers ?? []).map { .init(peer: $0.peer, device: $0.device, app: $0.app) }
        found.unread = (survey?.peers ?? []).flatMap { peer in
            peer.knowledge.filter { $0.behind > 0 }.map { .init(peer: peer.peer, author: $0.peer, logs: $0.behind) }
        }
        return found
    }

    /// The statements of the container, if it has a scope.
    private var authority: Authority? {
        // The way begins with the content's first directory below `CoreData`.
        let container = layout.directory.components.dropLast(layout.content.split(separator: "/").count + 1)
        guard let scope = container.last.flatMap({ ScopeIdentifier($0.string) }) else { return nil }
        let directory = ScopeDirectory(FilePath(root: layout.directory.root, container), scope, files)
        guard (try? files.kind(of: directory.authority)) == .directory else { return nil }
        return try? directory.readAuthority()
    }

    private func verifyMarks(_ found: inout ContentVerification) {
        for name in found.findings.entries(of: layout.epochs, files, expecting: { ContentLayout.epoch(ofMark: $0) == nil ? nil : .file }) {
            let path = layout.epochs.appending(name)
            progress(path)
            found.marks += 1
            found.epoch = max(found.epoch, ContentLayout.epoch(ofMark: name)!)
            do {
                let mark = EpochMark(decoding: try files.read(path, limit: EpochVerifier.limit))
                if mark.map({ "\($0.epoch).\($0.peer)" }) != name {
                    found.findings.report(
                        .fault, path,
                        mark.map { "it is a mark of epoch \($0.epoch) by \($0.peer)" } ?? "it is damaged, or of a newer version",
                        "leave it: its name determines the epoch, and its content only tells which logs of the previous epoch had been read")
                }
            } catch {
                found.findings.reportUnreadable(path, error)
            }
        }
    }

    /// Returns the epochs of a peer that have not ended.
    private func epochs(of peer: PeerIdentifier, _ found: inout ContentVerification) -> [Int64] {
        let directory = layout.peer(peer)
        let names = found.findings.entries(of: directory, files) { ContentLayout.epoch(ofDirectory: $0) == nil ? nil : .directory }
        return names.compactMap(ContentLayout.epoch(ofDirectory:)).filter { epoch in
            let path = layout.logs(of: peer, epoch: epoch)
            if epoch < found.epoch {
                found.findings.report(
                    .remark, path, "its epoch has ended", "nothing: a device removes it once its peer has set aside what was not sent")
            } else if epoch > found.epoch {
                found.findings.report(
                    .remark, path, "no mark names its epoch yet",
                    "wait until the mark arrives; until then devices that do not know it ignore the files")
            }
            return epoch >= found.epoch
        }
    }
}
