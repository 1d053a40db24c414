//! Program `seq`.

use super::input::usage;
use crate::state::{Done, Shell};

pub(super) async fn seq(shell: &mut Shell, arguments: &[String]) -> Done {
    let (mut between, mut wide, mut format) = ("\n".to_owned(), false, None);
    let mut operands = Vec::new();
    let mut rest = arguments.iter();
    // A negative number is no option.
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-w" | "--equal-width" => wide = true,
            "-s" => between = rest.next().cloned().unwrap_or_default(),
            "-f" => format = rest.next().cloned(),
            text if text.starts_with("-s") => between = text[2..].to_owned(),
            text => operands.push(text.to_owned()),
        }
    }
    let mut numbers = Vec::new();
    for operand in &operands {
        match operand.parse::<f64>() {
            Ok(number) if number.is_finite() => numbers.push(number),
            _ => return Err(usage(shell, "seq", &format!("invalid floating point argument: '{operand}'"), 1).await),
        }
    }
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1.0, 1.0, *last),
        [first, last] => (*first, 1.0, *last),
        [first, step, last] => (*first, *step, *last),
        [] => return Err(usage(shell, "seq", "missing operand", 1).await),
        _ => return Err(usage(shell, "seq", &format!("extra operand '{}'", operands[3]), 1).await),
    };
    if step == 0.0 {
        return Err(usage(shell, "seq", "invalid Zero increment value: '0'", 1).await);
    }
    let digits = operands.iter().map(|text| text.split_once('.').map_or(0, |(_, digits)| digits.len())).max();
    let digits = digits.unwrap_or(0).min(20);
    let width = match wide {
        true => format!("{first:.digits$}").len().max(format!("{last:.digits$}").len()),
        false => 0,
    };
    let mut text = String::new();
    let mut index = 0_u64;
    loop {
        let value = first + step * index as f64;
        if (step > 0.0 && value > last + 1e-10) || (step < 0.0 && value < last - 1e-10) {
            break;
        }
        if index > 0 {
            text.push_str(&between);
        }
        match &format {
            Some(format) => text.push_str(
                &format.replacen("%g", &value.to_string(), 1).replacen("%02g", &format!("{value:02}"), 1).replacen(
                    "%03g",
                    &format!("{value:03}"),
                    1,
                ),
            ),
            None => text.push_str(&format!("{value:0width$.digits$}")),
        }
        index += 1;
        shell.step(1).await?;
        if text.len() > 16 << 10 {
            shell.out("seq", text.as_bytes()).await?;
            text.clear();
        }
    }
    if index > 0 {
        text.push('\n');
    }
    shell.out("seq", text.as_bytes()).await?;
    Ok(0)
}
