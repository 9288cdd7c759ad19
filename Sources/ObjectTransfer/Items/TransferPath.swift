package import ContentHashing
package import UbiquityContainers

/// The path of a file that a cloud carries, relative to the directory of an account's containers.
///
/// It names a file that its peer writes once: a mark, or a file of a store's content. Other paths have no value of this type,
/// so nothing outside an account's containers can be read or written by a transfer, whatever a bulletin says.
package struct TransferPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// What kind of file it is, in the order in which files travel: what a file needs goes before it.
    package enum Role: Int, Comparable, Sendable, CaseIterable {
        case value
        case baseline
        case log
        case receipt
        case mark

        package static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }
    }

    /// A content of a container, which has epochs of its own.
    package struct Content: Hashable, Sendable {
        package var path: String
    }

    /// The path, with `/` between its components.
    package let description: String
    /// The container, its first component.
    package let container: String
    package let role: Role
    /// The peer that writes the file.
    package let peer: PeerIdentifier
    /// The content and the epoch to which the file belongs; nil for a container's mark.
    package let epoch: (content: Content, number: Int64)?
    /// Whether it is the mark that begins an epoch.
    package let beginsEpoch: Bool

    /// The longest path in bytes.
    private static let longest = 1024

    /// Parses a path.
    ///
    /// The result is nil for an absolute path, one with `..`, one of another account, or of a file that stays here.
    ///
    /// - Parameters:
    ///   - text: `<container>/.ubiquity/<peer>`, `<container>/…/epochs/<n>.<peer>`, or `<container>/…/<peer>/<n>/…`.
    ///   - account: the account to which all its peers belong.
    package init?(_ text: String, of account: AccountName) {
        guard text.utf8.count <= Self.longest else { return nil }
        let names = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard names.count >= 3, names.allSatisfy(Self.isName), (try? ContainerIdentifier(names[0])) != nil else { return nil }
        func peer(_ name: some StringProtocol) -> PeerIdentifier? {
            PeerIdentifier(name).flatMap { $0.account == account.description ? $0 : nil }
        }
        if names[1] == ".ubiquity" {
            guard names.count == 3, let peer = peer(names[2]) else { return nil }
            self.init(text, names[0], .mark, peer, nil)
            return
        }
        if names[names.count - 2] == "epochs", let mark = Self.epochMark(names.last!), let peer = peer(mark.peer) {
            self.init(text, names[0], .mark, peer, (Content(path: names.dropLast(2).joined(separator: "/")), mark.number), beginsEpoch: true)
            return
        }
        guard let place = names.indices.dropFirst().first(where: { PeerIdentifier(names[$0]) != nil }), let peer = peer(names[place]),
            names.count >= place + 3, let number = Self.number(names[place + 1])
        else { return nil }
        let content = Content(path: names[..<place].joined(separator: "/"))
        guard let role = Self.role(names[(place + 2)...]) else { return nil }
        self.init(text, names[0], role, peer, (content, number))
    }

    private init(
        _ text: String, _ container: String, _ role: Role, _ peer: PeerIdentifier, _ epoch: (Content, Int64)?, beginsEpoch: Bool = false
    ) {
        (description, self.container, self.role, self.peer, self.beginsEpoch) = (text, container, role, peer, beginsEpoch)
        self.epoch = epoch.map { (content: $0.0, number: $0.1) }
    }

    private static func role(_ names: ArraySlice<String>) -> Role? {
        switch (names.first!, names.count) {
        case ("values", 2): .value
        case ("baselines", 2): .baseline
        case ("receipts", 2): .receipt
        case (_, 1): .log
        default: nil
        }
    }

    private static func epochMark(_ name: String) -> (number: Int64, peer: Substring)? {
        guard let dot = name.firstIndex(of: "."), let number = number(name[..<dot]) else { return nil }
        return (number, name[name.index(after: dot)...])
    }

    /// Reads a number in its only valid spelling.
    private static func number(_ text: some StringProtocol) -> Int64? {
        guard let number = Int64(text), number >= 0, "\(number)" == text else { return nil }
        return number
    }

    /// Whether a name can be a file's or a directory's that leaves a device.
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 && !ForeignNames.staysHere(name)
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control } && (name == ".ubiquity" || !ForeignNames.matches(name))
    }

    /// Orders paths as they travel: by role, then by text.
    package static func < (left: Self, right: Self) -> Bool {
        left.role == right.role ? left.description < right.description : left.role < right.role
    }

    package static func == (left: Self, right: Self) -> Bool { left.description == right.description }
    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// The directory in which the peer writes in an epoch; nil for marks.
    package var directory: String? { role == .mark ? nil : epoch.map { "\($0.content.path)/\(peer)/\($0.number)" } }

    /// The mark that the peer leaves in the container.
    package var attachmentMark: String { "\(container)/.ubiquity/\(peer)" }
}

/// The bytes of a file: how many, and their hash.
package struct FileDigest: Hashable, Sendable, Codable {
    package var size: Int64
    package var hash: ContentHash

    package init(size: Int64, hash: ContentHash) { (self.size, self.hash) = (size, hash) }
}
