internal import Foundation
internal import ObjectTransfer

/// A remote as rclone's configuration names it.
package struct RcloneRemote: Sendable, Hashable {
    /// The remote and directory as the user names them, such as `nextcloud:Ubiquity`.
    package let name: String
    /// The type of the back end, such as `webdav`, `s3` or `crypt`.
    package let type: String
    /// The remote with what this package requires of it: names that cannot be decrypted are errors, not an empty directory; no
    /// request that only confirms an upload.
    package let strict: String

    /// Reads what rclone's configuration says of a remote.
    ///
    /// - Parameters:
    ///   - name: the remote with its colon, and a directory.
    ///   - program: rclone.
    /// - Throws: `ObjectStoreError` with `unusable` if there is no such remote.
    package init(_ name: String, _ program: RcloneProgram) async throws {
        guard let colon = name.firstIndex(of: ":"), colon > name.startIndex, !name.hasPrefix(":"), !name.contains(",") else {
            throw ObjectStoreError(
                .unusable, "\(name) names no remote of rclone; give its name, a colon and a directory, such as nextcloud:Ubiquity.")
        }
        let remote = String(name[..<colon])
        let known = try await Self.types(program)
        guard let type = known[remote] else {
            let names = known.keys.sorted().map { "\($0):" }.joined(separator: ", ")
            throw ObjectStoreError(
                .unusable,
                "rclone knows no remote \(remote): (it knows \(names.isEmpty ? "none" : names)); make it with: ubcontrol setup cloud, or rclone config"
            )
        }
        (self.name, self.type) = (name, type)
        let path = name[name.index(after: colon)...]
        strict = "\(remote)\(Self.options(of: type)):\(path)"
    }

    /// The options of a connection string (rclone.org/docs/#connection-strings), which count before those of the configuration.
    private static func options(of type: String) -> String {
        switch type {
        // A wrong password shows an empty remote otherwise.
        case "crypt": ",strict_names=true"
        // The bulletin's hash tells whether an object is whole, so no second request asks.
        case "s3": ",no_head=true,no_check_bucket=true"
        // rclone waits 10 ms before each request, which is three for a file; a server that is asked too much says so.
        case "webdav": ",pacer_min_sleep=0"
        default: ""
        }
    }

    /// Returns the remotes that rclone knows, with their types and nothing else of them.
    ///
    /// - Throws: `ObjectStoreError`.
    package static func types(_ program: RcloneProgram) async throws -> [String: String] {
        // `name:  type`, one a line.
        let text = try await program.run(["listremotes", "--long"])
        return text.split(separator: "\n").reduce(into: [:]) { types, line in
            guard let colon = line.lastIndex(of: ":") else { return }
            types[String(line[..<colon])] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
    }
}
