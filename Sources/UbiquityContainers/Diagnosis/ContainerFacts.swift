internal import Foundation
package import SystemPackage

/// The condition of one container; its files are inspected separately.
package struct ContainerFacts: Sendable {
    /// A file in `.ubiquity`.
    package struct Mark: Sendable {
        package enum Content: Sendable, Equatable {
            case good
            /// A newer version wrote it, with this format.
            case newer(Int)
            /// It is not a mark, or is another peer's mark.
            case garbage
            case unreadable(Errno)
        }

        /// The file's name, which must be a peer's identifier.
        package var name: String
        package var content: Content

        package init(name: String, content: Content) {
            self.name = name
            self.content = content
        }
    }

    package var identifier: String
    package var account: String
    package var place: PathFacts
    package var state: KnownContainer.State
    /// This device's peer.
    package var peer: String?
    /// The container's previous place, if that is below another root; nil otherwise.
    package var before: FilePath?
    package var marks: [Mark]
    /// The remains of store contents that running or interrupted wipes have left.
    package var remains: [FilePath] = []

    package init(
        identifier: String, account: String, place: PathFacts, state: KnownContainer.State, peer: String? = nil, before: FilePath? = nil,
        marks: [Mark] = []
    ) {
        self.identifier = identifier
        self.account = account
        self.place = place
        self.state = state
        self.peer = peer
        self.before = before
        self.marks = marks
    }

    /// Inspects a container.
    ///
    /// - Parameters:
    ///   - known: the container.
    ///   - account: its account.
    package init(of known: KnownContainer, account: HomeFacts.Account) {
        let files = LinuxFileLayer()
        let directory = known.path.appending(UbiquityContainer.markDirectoryName)
        let names = ((try? files.names(in: directory)) ?? []).filter { !$0.hasSuffix(ItemPath.excludedSuffix) && !ForeignNames.matches($0) }
        self.init(
            identifier: known.identifier.description, account: account.name, place: PathFacts(at: known.path), state: known.state,
            peer: known.peer?.description,
            marks: names.sorted().map { Mark(name: $0, content: Self.content(of: directory.appending($0), peer: $0, files)) })
        remains = ContainerWipe.remains(in: known.path)
        if let before = account.peers[identifier]?.root, before != account.root.path.string { self.before = FilePath(before) }
    }

    private static func content(of file: FilePath, peer: String, _ files: LinuxFileLayer) -> Mark.Content {
        struct Format: Decodable { var format: Int }
        do {
            let data = Data(try files.read(file, limit: 1 << 20))
            guard let format = try? JSONDecoder().decode(Format.self, from: data).format else { return .garbage }
            if format > 1 { return .newer(format) }
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .iso8601
            guard let mark = try? decoder.decode(AttachmentMark.self, from: data), mark.peer == peer else { return .garbage }
            return .good
        } catch {
            return .unreadable(error)
        }
    }
}

extension ContainerFacts {
    /// The problems of the container.
    package var findings: [Finding] {
        var found: [Finding] = []
        func report(_ severity: Finding.Severity, _ what: String, _ remedy: String, at path: FilePath? = nil) {
            found.append(Finding(severity, .container, path ?? place.path, what, remedy))
        }
        if case .link(let target) = place.kind {
            report(.fault, "the container is a symbolic link to \(target), which no synchroniser follows", "put the directory itself there")
            return found
        }
        switch state {
        case .attachment(.attached), .unused: break
        case .notMade: report(.remark, "is declared, and no app has made it yet", "nothing")
        case .attachment(.detached(.unreadable(let error))): report(.fault, "cannot be read (\(error))", "check its owner and mode")
        case .attachment(.detached(.rootGone)), .attachment(.detached(.silent)): break
        case .attachment(.detached(.massDeletion)):
            report(
                .fault, "many of its items were deleted at once: its stores are suspended, and keep what they have",
                "put the items back, or confirm the deletion with: ubcontrol container resume \(identifier)")
        case .attachment(.detached(let reason)):
            if let before {
                report(
                    .fault, "this device's container lay below \(before) when it was last used, and is not here",
                    "move it here, or sign in with --containers \(before)")
            } else {
                report(
                    .fault, "\(ContainerAttachment.detached(reason)): its stores are suspended, and keep what they have",
                    "wait for the synchroniser if it has still to bring it; else let the app decide, or restore it")
            }
        }
        for directory in remains {
            report(
                .fault, "a wipe is running or was interrupted: these are the remains of the stores' contents",
                "let it finish, or continue it with: ubcontrol container wipe \(identifier)", at: directory)
        }
        if place.kind == .directory, !place.isReadable || !place.isWritable {
            report(.fault, "cannot be \(place.isReadable ? "written" : "read") by this user", "check its owner and mode")
        }
        for mark in marks {
            let path = place.path.appending(UbiquityContainer.markDirectoryName).appending(mark.name)
            let isOwn = mark.name == peer
            guard let other = PeerIdentifier(mark.name) else {
                report(.remark, "is not an attachment mark", "remove it", at: path)
                continue
            }
            if other.account != account {
                report(
                    .fault, "is the mark of a peer of another account, \(other.account): two accounts use one container",
                    "give each account a containers root, or a container, of its own", at: path)
            }
            switch mark.content {
            case .good: break
            case .newer(let format):
                report(.warning, "was written by a newer version (format \(format))", "update this program", at: path)
            case .garbage:
                report(
                    isOwn ? .fault : .warning, "is not a valid attachment mark\(isOwn ? ", and is this device's own" : "")",
                    "restore it from another device, or leave it if that device will bring it again", at: path)
            case .unreadable(let error):
                report(isOwn ? .fault : .warning, "cannot be read (\(error))", "check its owner and mode", at: path)
            }
        }
        return found
    }
}
