/// Why a transfer stands still until a person or another program has done something.
package enum TransferBlock: Hashable, Sendable {
    /// The containers root is gone.
    case rootGone
    /// The credentials of the remote are missing, wrong or expired.
    case authorization(String)
    /// The remote has no room for more; downloads and removals go on.
    case quota(String)
    /// The remote has been emptied, or is another one.
    case remoteReplaced
    /// What the remote holds cannot be decrypted.
    case wrongPassword
    /// A newer version of this package has written to the remote.
    case newerFormat(String)
    /// The program that reaches the remote is missing, or must not be used.
    case unusable(String)
    /// This device has too little free space for downloads.
    case diskFull(free: Int64)

    /// A stable name, for JSON and scripts.
    package var name: String {
        switch self {
        case .rootGone: "rootGone"
        case .authorization: "authorization"
        case .quota: "quota"
        case .remoteReplaced: "remoteReplaced"
        case .wrongPassword: "wrongPassword"
        case .newerFormat: "newerFormat"
        case .unusable: "unusable"
        case .diskFull: "diskFull"
        }
    }

    /// The reason, with the remedy.
    ///
    /// - Parameter remote: the name of the remote.
    /// - Returns: one or two sentences.
    package func text(_ remote: String) -> String {
        switch self {
        case .rootGone: "The containers root is gone; mount its file system, or restore it. Nothing is sent or fetched until then."
        case .authorization(let reason):
            "\(remote) refuses this device (\(reason)). Renew its access with: rclone config reconnect \(Self.name(of: remote)), or enter its password or key again with: rclone config"
        case .quota(let reason): "\(remote) has no room for more (\(reason)); free space there. Downloads go on."
        case .remoteReplaced:
            "\(remote) has been emptied, or is another one: it lacks what this device has published there. Nothing is removed here. Restore it, or fill it again from this device with: ubcontrol transfer republish"
        case .wrongPassword:
            "What \(remote) holds cannot be decrypted: its password is not the one with which it was filled. Correct it with: rclone config"
        case .newerFormat(let reason): "\(remote): \(reason)."
        case .unusable(let reason): reason
        case .diskFull(let free):
            "Only \(free / 1_000_000) MB are free here, so nothing is fetched until there are \(TransferOptions.leastFree / 1_000_000) MB."
        }
    }

    /// Returns the name of an rclone remote with its colon, which `rclone config` takes.
    private static func name(of remote: String) -> String { remote.firstIndex(of: ":").map { String(remote[...$0]) } ?? remote }
}
